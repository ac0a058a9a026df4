// What the pages do beyond plain forms: the slider beside epsilon, charts, copying a new key. Everything can be read
// and asked without it. No code is made from text here: the policy of the pages forbids it, and Vega's expressions are
// interpreted.
(function () {
  "use strict";

  // The slider is on a logarithmic scale, for 0.01 is to 0.1 what 0.1 is to 1.
  function slider(range) {
    var field = document.getElementById(range.dataset.for);
    var low = Number(range.dataset.low);
    var high = Number(range.dataset.high);
    if (!field || !(low > 0) || !(high > low)) { return; }
    var steps = Number(range.max);
    var comma = document.documentElement.lang === "es";
    range.closest("[hidden]").hidden = false;

    function position(value) {
      var part = Math.log(value / low) / Math.log(high / low);
      return Math.round(steps * Math.min(1, Math.max(0, part)));
    }
    // Two significant digits, rounded down: never more than there is.
    function value(at) {
      var exact = low * Math.pow(high / low, at / steps);
      var unit = Math.pow(10, Math.floor(Math.log10(exact)) - 1);
      var digits = Math.max(0, -Math.floor(Math.log10(unit) + 1e-9));
      var rounded = (Math.floor(exact / unit + 1e-9) * unit).toFixed(digits);
      return digits ? rounded.replace(/0+$/, "").replace(/\.$/, "") : rounded;
    }
    function follow() {
      var number = Number(field.value.replace(",", "."));
      if (number > 0) { range.value = position(number); }
      range.setAttribute("aria-valuetext", field.value);
    }
    range.addEventListener("input", function () {
      field.value = comma ? value(Number(range.value)).replace(".", ",") : value(Number(range.value));
      range.setAttribute("aria-valuetext", field.value);
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    field.addEventListener("input", follow);
    follow();
  }

  function chart(place) {
    var dark = window.matchMedia("(prefers-color-scheme: dark)");
    function draw() {
      var address = place.dataset.chart + "&theme=" + (dark.matches ? "dark" : "light");
      fetch(address, { credentials: "same-origin", headers: { Accept: "application/json" } })
        .then(function (reply) {
          if (!reply.ok) { throw new Error(String(reply.status)); }
          return reply.json();
        })
        .then(function (spec) {
          var locale = spec.usermeta && spec.usermeta.locale;
          delete spec.usermeta;
          return window.vegaEmbed(place, spec, {
            ast: true,
            actions: false,
            defaultStyle: false,
            tooltip: false,
            hover: false,
            renderer: "svg",
            formatLocale: locale
          });
        })
        .then(function () { place.classList.add("drawn"); })
        .catch(function () {
          // The picture that the server draws is there for whoever has no script; it serves here too.
          var picture = document.createElement("img");
          picture.src = place.dataset.image;
          picture.alt = place.getAttribute("aria-label") || "";
          picture.className = "chart-image";
          place.replaceChildren(picture);
        });
    }
    draw();
    dark.addEventListener("change", draw);
  }

  function copy(button) {
    if (!navigator.clipboard) { return; }
    button.hidden = false;
    button.addEventListener("click", function () {
      var text = document.getElementById(button.dataset.copy).textContent.trim();
      navigator.clipboard.writeText(text).then(function () { button.textContent = button.dataset.done; });
    });
  }

  // A field that the choice in another one makes meaningless is set aside.
  function dependent(field) {
    var other = document.getElementById(field.dataset.unless);
    function follow() { field.disabled = field.dataset.values.split(" ").indexOf(other.value) >= 0; }
    other.addEventListener("input", follow);
    follow();
  }

  document.querySelectorAll("input[data-for]").forEach(slider);
  document.querySelectorAll("[data-chart]").forEach(chart);
  document.querySelectorAll("[data-copy]").forEach(copy);
  document.querySelectorAll("[data-unless]").forEach(dependent);
})();
