/* Cells of the grid of runs. Texts go through React, so nothing that a name holds is ever markup. */
(function () {
  "use strict";
  var functions = window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || {};

  functions.RunLink = function (props) {
    var run = props.value;
    if (!run) { return null; }
    if (!run.href) { return React.createElement("strong", null, run.text); }
    return React.createElement("a", { href: run.href, className: "strong-link" },
      React.createElement("bdi", { className: "name", title: run.text }, run.text));
  };

  functions.Strip = function (props) {
    var strip = props.value;
    if (!strip) { return null; }
    return React.createElement("div", { className: "strip", role: "img", title: strip.said, "aria-label": strip.said },
      strip.parts.map(function (part, index) {
        return React.createElement("div", { key: index, style: { flexGrow: part[0] } }, part[1].map(function (state) {
          return React.createElement("i", { key: state[0], className: "state-" + state[0], style: { flexGrow: state[1] } });
        }));
      }));
  };

  functions.Findings = function (props) {
    var findings = props.value;
    if (!findings || !findings.length) { return null; }
    return React.createElement("span", { className: "finding-chips" }, findings.map(function (one, index) {
      return React.createElement("a", { key: index, href: one.href, title: one.title }, one.title);
    }));
  };
})();
