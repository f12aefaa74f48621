/* Behaviour that needs the browser: links without a reload, filters in the address, refresh, clipboard, ages. */
(function () {
  "use strict";

  var REFRESH_MS = 60000;
  var lastTick = Date.now();

  function say(text) {
    var live = document.getElementById("live");
    if (live) { live.textContent = ""; window.setTimeout(function () { live.textContent = text; }, 30); }
  }

  function go(address) {
    window.history.pushState({}, "", address);
    window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
  }

  /* Ordinary links become navigation inside the page. Anything that is not a page of ours stays with the browser. */
  function isPage(anchor) {
    return anchor.origin === window.location.origin && !anchor.target && !anchor.hasAttribute("download") &&
      !/^\/(api|assets|metrics|healthz|reports\/.+|_dash)/.test(anchor.pathname);
  }

  document.addEventListener("click", function (event) {
    var menu = event.target.closest("#menu-button");
    if (menu) { menu.setAttribute("aria-expanded", menu.getAttribute("aria-expanded") === "true" ? "false" : "true"); return; }
    document.querySelectorAll("details.computed[open]").forEach(function (open) {
      if (!open.contains(event.target)) { open.open = false; }
    });
    var copy = event.target.closest("[data-copy]");
    if (copy) { copyText(copy); return; }
    var anchor = event.target.closest("a[href]") || rowAnchor(event.target);
    if (!anchor || event.defaultPrevented || event.button !== 0 ||
        event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || !isPage(anchor)) { return; }
    if (anchor.pathname === window.location.pathname && anchor.hash && anchor.search === window.location.search) { return; }
    event.preventDefault();
    var samePage = anchor.pathname === window.location.pathname;
    closeMenu();
    go(anchor.pathname + (samePage ? withOrder(anchor) : anchor.search));
    if (!samePage) { window.scrollTo(0, 0); }
  });

  /* A filter drawn before the grid was put in another order keeps that order. */
  function withOrder(anchor) {
    var now = new URLSearchParams(window.location.search);
    var next = new URLSearchParams(anchor.search);
    if (now.has("sort") && !next.has("sort") && !anchor.classList.contains("sort")) {
      next.set("sort", now.get("sort"));
      if (now.has("order")) { next.set("order", now.get("order")); }
    }
    var text = next.toString();
    return text ? "?" + text : "";
  }

  /* The whole row of the grid leads where its first link leads, unless somebody is selecting text. */
  function rowAnchor(target) {
    var row = target.closest(".ag-row");
    if (!row || String(window.getSelection())) { return null; }
    var grid = row.closest(".grid");
    return grid && grid.querySelector('.ag-row[row-id="' + row.getAttribute("row-id") + '"] a[href]');
  }

  document.addEventListener("keydown", function (event) {
    var typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable;
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      var search = document.getElementById("search");
      if (search) { event.preventDefault(); search.focus(); search.select(); }
    }
    if (event.key === "Escape") {
      closeMenu();
      document.querySelectorAll("details.computed[open]").forEach(function (open) { open.open = false; });
    }
  });

  function closeMenu() {
    var button = document.getElementById("menu-button");
    if (button) { button.setAttribute("aria-expanded", "false"); }
  }

  function copyText(button) {
    var text = button.getAttribute("data-copy") || location.href; // nothing given: this page, as it is filtered
    function done() {
      button.setAttribute("data-copied", "");
      say("Copied");
      window.setTimeout(function () { button.removeAttribute("data-copied"); }, 1600);
    }
    if (navigator.clipboard && window.isSecureContext) {
      navigator.clipboard.writeText(text).then(done, function () { if (copyByHand(text)) { done(); } });
    } else if (copyByHand(text)) { done(); } // plain http on a site's network has no clipboard interface
  }

  function copyByHand(text) {
    var area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    area.style.opacity = "0";
    document.body.appendChild(area);
    area.select();
    var copied = document.execCommand("copy");
    area.remove();
    return copied;
  }

  /* Ages are counted here, so that "40 s ago" stays true between two refreshes. */
  function age(ms) {
    var s = Math.max(0, Math.round(ms / 1000));
    if (s < 60) { return s + " s"; }
    if (s < 3600) { return Math.round(s / 60) + " min"; }
    if (s < 86400) { return Math.round(s / 3600) + " h"; }
    return Math.round(s / 86400) + " d";
  }

  function showAges() {
    document.querySelectorAll("[data-since-ms]").forEach(function (element) {
      var gone = Date.now() - Number(element.getAttribute("data-since-ms")) - (window.ledgerClockSkew || 0);
      element.textContent = age(gone) + " ago";
      var limit = Number(element.getAttribute("data-stale-ms"));
      var holder = element.closest("[data-stale]");
      if (holder && limit) { holder.setAttribute("data-stale", gone > limit ? "yes" : "no"); }
    });
  }
  window.setInterval(showAges, 1000);

  /* One refresh for live pages, never while hidden; coming back after a minute away refreshes at once. */
  function isLive() { return document.querySelector("[data-live='yes']") !== null; }

  function tick() {
    if (!document.hidden && isLive()) { redraw(); }
  }

  function redraw() {
    lastTick = Date.now();
    remember();
    window.dash_clientside.set_props("tick", { data: lastTick });
  }

  /* A slot whose content changed is mounted anew: what was unfolded there is unfolded again, the focus put back. */
  var kept = null;

  function folds(slot) { return Array.prototype.slice.call(slot.querySelectorAll("details")); }

  function remember() {
    var active = document.activeElement;
    var slot = active && active.closest("[data-region]");
    kept = { open: {}, focus: null };
    if (slot) {
      var all = Array.prototype.slice.call(slot.querySelectorAll("a, button, summary, [tabindex]"));
      kept.focus = { region: slot.getAttribute("data-region"), index: all.indexOf(active), element: active };
    }
    document.querySelectorAll("[data-region]").forEach(function (region) {
      kept.open[region.getAttribute("data-region")] = folds(region).map(function (one) { return one.open; });
    });
  }

  function restore() {
    if (!kept) { return; }
    document.querySelectorAll("[data-region]").forEach(function (region) {
      var open = kept.open[region.getAttribute("data-region")] || [];
      folds(region).forEach(function (one, index) { if (open[index]) { one.open = true; } });
    });
    if (kept.focus && !document.contains(kept.focus.element)) {
      var slot = document.querySelector('[data-region="' + kept.focus.region + '"]');
      var next = slot && slot.querySelectorAll("a, button, summary, [tabindex]")[kept.focus.index];
      if (next) { next.focus({ preventScroll: true }); }
    }
    kept = null;
  }
  window.setInterval(function () { if (Date.now() - lastTick >= REFRESH_MS) { tick(); } }, 1000);
  document.addEventListener("visibilitychange", function () {
    if (!document.hidden && Date.now() - lastTick >= REFRESH_MS) { tick(); }
  });

  if (window.ledgerScheme) { window.ledgerScheme.onSystemChange(function () { window.ledgerScheme.apply(); redraw(); }); }

  document.addEventListener("click", function (event) {
    if (event.target.closest("#scheme-toggle")) {
      say(window.ledgerScheme.toggle() === "dark" ? "Dark colours" : "Light colours");
      redraw();
    }
  });

  function plotOf(name) {
    var holder = document.getElementById(name);
    return holder && holder.querySelector(".js-plotly-plot");
  }

  function sameRange(one, other) {
    function at(text) { return new Date(String(text).replace(" ", "T") + "Z").getTime(); }
    return Math.abs(at(one[0]) - at(other[0])) < 1500 && Math.abs(at(one[1]) - at(other[1])) < 1500;
  }

  /* What somebody zoomed to: another range than the one the figure came with (layout.meta), or than Plotly's own. */
  function zoomOf(plot) {
    if (!plot || !plot._fullLayout || !plot._fullLayout.xaxis) { return null; }
    var axis = plot._fullLayout.xaxis;
    var given = plot._fullLayout.meta && plot._fullLayout.meta.range;
    if (given ? sameRange(axis.range, given) : axis.autorange) { return null; }
    return axis.range.slice();
  }

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.ledger = {
    /* Writes the controls of the filter bar into the address; what the page does not know stays as it is. */
    address: function (values, ids) {
      var search = new URLSearchParams(window.location.search);
      var before = search.toString();
      ids.forEach(function (id, index) {
        var name = id.filter;
        var value = values[index];
        if (name === "dates") { dates(search, value); return; }
        var text = Array.isArray(value) ? value.join(",") : value === null || value === undefined ? "" : String(value);
        if (text === (search.get(name) || "") || (text === id.unset && !search.has(name))) { return; }
        if (text === "" || text === id.unset) { search.delete(name); } else { search.set(name, text); }
        if (name === "range") { search.delete("from"); search.delete("to"); }
      });
      var after = search.toString();
      return after === before ? window.dash_clientside.no_update : after ? "?" + after : "";
    },

    /* After a page change the heading takes the focus, as it would after a real page load. */
    arrived: function (store) {
      var path = window.location.pathname;
      if (window.ledgerPath !== undefined && window.ledgerPath !== path) {
        window.setTimeout(function () {
          var heading = document.querySelector("main h1");
          if (heading) { heading.setAttribute("tabindex", "-1"); heading.focus({ preventScroll: true }); }
        }, 50);
      }
      window.ledgerPath = path;
      lastTick = Date.now();
      window.setTimeout(showAges, 0);
      return window.dash_clientside.no_update;
    },

    /* The order of the grid goes into the address, where a link or a reload finds it; nothing is drawn anew for it. */
    ordered: function () {
      var asked = window.dash_clientside.callback_context.triggered[0];
      var model = asked && asked.value && asked.value.sortModel;
      if (!model) { return window.dash_clientside.no_update; }
      var search = new URLSearchParams(window.location.search);
      var sort = model.length ? model[0].colId : "";
      var usual = sort === "" || (sort === "idle_gpu_h" && model[0].sort === "desc");
      if (usual) { search.delete("sort"); } else { search.set("sort", sort); }
      if (!usual && model[0].sort === "asc") { search.set("order", "asc"); } else { search.delete("order"); }
      var text = search.toString();
      window.history.replaceState(window.history.state, "", window.location.pathname + (text ? "?" + text : ""));
      return window.dash_clientside.no_update;
    },

    /* A refreshed figure keeps the stretch of time that somebody has zoomed to. */
    figure: function (figure, id) {
      if (!figure) { return window.dash_clientside.no_update; }
      var zoom = zoomOf(plotOf(id.figure));
      if (zoom) {
        figure.layout.xaxis = Object.assign({}, figure.layout.xaxis, { range: zoom, autorange: false });
      }
      return figure;
    },

    /* The charts of one run show the same stretch of time. */
    sameTime: function () {
      var triggered = window.dash_clientside.callback_context.triggered_id;
      var plot = triggered && plotOf(triggered.chart);
      var group = plot && plot.closest("[data-same-time]");
      if (group) {
        var range = plot._fullLayout.xaxis.range;
        group.querySelectorAll(".js-plotly-plot").forEach(function (other) {
          if (other !== plot && other._fullLayout && !sameRange(other._fullLayout.xaxis.range, range)) {
            window.Plotly.relayout(other, { "xaxis.range": range.slice() });
          }
        });
      }
      return window.dash_clientside.no_update;
    },

    /* A refresh is announced politely, once. */
    refreshed: function (data) {
      if (data && data.say) { say(data.say); }
      window.setTimeout(function () { restore(); showAges(); }, 30);
      return window.dash_clientside.no_update;
    }
  };

  /* The address ends before "to"; the field shows the last day itself. */
  function dates(search, value) {
    if (!value || !value[0] || !value[1]) { return; }
    var end = new Date(value[1] + "T00:00:00Z");
    end.setUTCDate(end.getUTCDate() + 1);
    var to = end.toISOString().slice(0, 10);
    if (value[0] === search.get("from") && to === search.get("to")) { return; }
    search.set("from", value[0]);
    search.set("to", to);
    search.delete("range");
  }
})();
