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
    go(anchor.pathname + anchor.search);
    if (!samePage) { window.scrollTo(0, 0); }
  });

  /* The whole row of the grid leads where its first link leads, unless somebody is selecting text. */
  function rowAnchor(target) {
    var row = target.closest(".ag-row");
    if (!row || String(window.getSelection())) { return null; }
    var grid = row.closest(".grid");
    return grid && grid.querySelector('.ag-row[row-id="' + row.getAttribute("row-id") + '"] a[href]');
  }

  document.addEventListener("submit", function (event) {
    var form = event.target.closest("form[data-nav]");
    if (!form) { return; }
    event.preventDefault();
    var field = form.querySelector("input");
    var text = field.value.trim();
    if (text) { go(form.getAttribute("action") + "?" + field.name + "=" + encodeURIComponent(text)); window.scrollTo(0, 0); }
  });

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
    var text = button.getAttribute("data-copy");
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
    if (document.hidden || !isLive()) { return; }
    lastTick = Date.now();
    window.dash_clientside.set_props("tick", { data: lastTick });
  }
  window.setInterval(function () { if (Date.now() - lastTick >= REFRESH_MS) { tick(); } }, 1000);
  document.addEventListener("visibilitychange", function () {
    if (!document.hidden && Date.now() - lastTick >= REFRESH_MS) { tick(); }
  });

  function redraw() { window.dash_clientside.set_props("tick", { data: Date.now() }); }
  if (window.ledgerScheme) { window.ledgerScheme.onSystemChange(function () { window.ledgerScheme.apply(); redraw(); }); }

  document.addEventListener("click", function (event) {
    if (event.target.closest("#scheme-toggle")) {
      say(window.ledgerScheme.toggle() === "dark" ? "Dark colours" : "Light colours");
      redraw();
    }
  });

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

    /* A refresh is announced politely, once. */
    refreshed: function (data) {
      if (data && data.say) { say(data.say); }
      window.setTimeout(showAges, 0);
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
