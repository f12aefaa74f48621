/* Runs in <head> before the first paint: the colour scheme is on the root element before anything is drawn, and in a
   cookie before the first request, because the server draws charts in the scheme's colours. */
(function () {
  "use strict";
  var KEY = "mantine-color-scheme-value"; // Mantine's own key, so that its provider starts with the same answer
  var dark = window.matchMedia("(prefers-color-scheme: dark)");

  function touch() {
    return window.matchMedia("(pointer: coarse)").matches || (navigator.maxTouchPoints > 0 && window.innerWidth < 640);
  }

  function chosen() {
    var stored = null;
    try { stored = localStorage.getItem(KEY); } catch (error) { /* storage switched off: follow the system */ }
    return stored === "light" || stored === "dark" ? stored : null;
  }

  function apply() {
    var scheme = chosen() || (dark.matches ? "dark" : "light");
    document.documentElement.setAttribute("data-mantine-color-scheme", scheme);
    document.cookie = "scheme=" + scheme + ";path=/;max-age=31536000;samesite=strict";
    document.cookie = "pointer=" + (touch() ? "coarse" : "fine") + ";path=/;samesite=strict";
    return scheme;
  }

  window.ledgerScheme = {
    apply: apply,
    toggle: function () {
      var next = apply() === "dark" ? "light" : "dark";
      try { localStorage.setItem(KEY, next); } catch (error) { /* kept for this page only */ }
      document.documentElement.setAttribute("data-mantine-color-scheme", next);
      document.cookie = "scheme=" + next + ";path=/;max-age=31536000;samesite=strict";
      return next;
    },
    onSystemChange: function (listener) { dark.addEventListener("change", listener); }
  };
  apply();
})();
