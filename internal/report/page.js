"use strict";
// A cross-hair with values for each figure that has axes. The figures carry
// their scales and names; the values are read back from the drawn lines, so
// the page holds no second copy of the data. Without script nothing is lost
// but this.
(function () {
  var ns = "http://www.w3.org/2000/svg";

  function numbers(text) { return text.trim().split(/\s+/).map(Number); }

  // warp and unwarp mirror the axis kinds: 0 linear, 1 logarithmic, 2 nines.
  function warp(kind, v) {
    if (kind === 1) return Math.log10(v);
    if (kind === 2) return -Math.log10(1 - Math.min(v, 99.99999) / 100);
    return v;
  }
  function unwarp(kind, w) {
    if (kind === 1) return Math.pow(10, w);
    if (kind === 2) return 100 * (1 - Math.pow(10, -w));
    return w;
  }
  function value(axis, part) {
    var lo = warp(axis[0], axis[1]), hi = warp(axis[0], axis[2]);
    return unwarp(axis[0], lo + part * (hi - lo));
  }

  function print(v) {
    if (!isFinite(v)) return "–";
    if (Math.abs(v) >= 100) return Math.round(v).toLocaleString("en-GB");
    return String(Number(v.toPrecision(3)));
  }

  // points reads the corners of a path that consists of M, L and h.
  function points(path) {
    var out = [];
    (path.getAttribute("d").match(/[ML][^MLhZ]+/g) || []).forEach(function (c) {
      out.push(c.slice(1).split(",").map(Number));
    });
    return out;
  }

  // top keeps the upper edge of a layer: the corners up to where x turns back.
  function top(list) {
    for (var i = 1; i !== list.length; i++) {
      if (list[i - 1][0] > list[i][0] || (list[i - 1][0] === list[i][0] && i > 1)) return list.slice(0, i);
    }
    return list;
  }

  function nearest(list, x) {
    var best = null, far = Infinity;
    list.forEach(function (p) {
      var d = Math.abs(p[0] - x);
      if (far > d) { far = d; best = p; }
    });
    return best;
  }

  function attach(svg) {
    var box = numbers(svg.getAttribute("data-plot"));
    var ax = numbers(svg.getAttribute("data-x")), ay = numbers(svg.getAttribute("data-y"));
    var series = null, rule = null, tip = null;

    function read() {
      var below = null;
      series = [];
      svg.querySelectorAll("path[data-n]").forEach(function (p) {
        var list = points(p), layer = p.hasAttribute("data-layer");
        if (layer) list = p.getAttribute("d").split("Z").length > 2 ? list : top(list);
        series.push({ name: p.getAttribute("data-n"), points: list, below: layer ? below : null });
        if (layer) below = list;
      });
    }

    function show(event) {
      if (!series) read();
      var r = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
      var x = (event.clientX - r.left) * view.width / r.width;
      var at = nearest(series.map(function (s) { return nearest(s.points, x); }).filter(Boolean), x);
      if (!at || box[0] > x || x > box[2]) { hide(); return; }
      x = at[0];
      if (!rule) {
        rule = svg.appendChild(document.createElementNS(ns, "path"));
        rule.setAttribute("class", "crosshair");
        tip = svg.parentNode.appendChild(document.createElement("div"));
        tip.className = "tip";
        tip.setAttribute("aria-hidden", "true");
      }
      // The rule snaps to a drawn point: what is read is what was measured, and
      // a series without a point there is left out.
      rule.setAttribute("d", "M" + x + "," + box[1] + "V" + box[3]);
      tip.textContent = "";
      line(svg.getAttribute("data-xl").split(",")[0], print(value(ax, (x - box[0]) / (box[2] - box[0]))), true);
      series.forEach(function (s) {
        var p = nearest(s.points, x);
        if (!p || Math.abs(p[0] - x) > 1.5) return;
        var v = value(ay, (box[3] - p[1]) / (box[3] - box[1]));
        if (s.below) {
          var q = nearest(s.below, x);
          v -= value(ay, (box[3] - q[1]) / (box[3] - box[1]));
        }
        line(s.name, print(v), false);
      });
      tip.style.left = Math.min(event.clientX - r.left + 14, r.width - tip.offsetWidth) + "px";
      tip.style.top = Math.max(0, event.clientY - r.top - tip.offsetHeight - 8) + "px";
    }

    function line(name, text, head) {
      var row = tip.appendChild(document.createElement("div"));
      if (head) row.className = "head";
      row.appendChild(document.createElement("span")).textContent = name;
      row.appendChild(document.createElement("b")).textContent = text;
    }

    function hide() {
      if (rule) { rule.remove(); tip.remove(); rule = null; }
    }

    svg.addEventListener("pointermove", show);
    svg.addEventListener("pointerleave", hide);
  }

  document.querySelectorAll("svg[data-plot]").forEach(attach);
})();
