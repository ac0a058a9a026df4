// Sends one request to the API of this server with a key that stands in the page alone: it is not stored, and no cookie
// goes along. Replies are shown as text.
(function () {
  "use strict";

  var place = document.getElementById("try-api");
  function field(name) { return document.getElementById(name); }

  // Only the API of this server: dots and other hosts are resolved before they are looked at.
  function address(text) {
    try {
      var made = new URL(text, window.location.origin);
      return made.origin === window.location.origin && made.pathname.indexOf("/v1/") === 0 ? made.href : null;
    } catch (error) {
      return null;
    }
  }

  function show(title, text, bad) {
    field("api-status").textContent = title;
    field("api-status").className = "notice " + (bad ? "bad" : "good");
    field("api-reply").textContent = text;
    field("api-result").hidden = false;
  }

  function pretty(text) {
    try { return JSON.stringify(JSON.parse(text), null, 2); } catch (error) { return text; }
  }

  function send() {
    var method = field("api-method").value;
    var target = address(field("api-path").value.trim());
    if (target === null) { show(place.dataset.outside, "", true); return; }
    var headers = { Accept: "application/json", Authorization: "Bearer " + field("api-key").value.trim() };
    var body = method === "GET" || method === "DELETE" ? null : field("api-body").value;
    if (body !== null) {
      headers["Content-Type"] = "application/json";
      headers["Idempotency-Key"] = field("api-repeat").value.trim();
    }
    fetch(target, { method: method, headers: headers, body: body, credentials: "omit", redirect: "error", cache: "no-store" })
      .then(function (reply) {
        return reply.text().then(function (text) {
          show(reply.status + " " + reply.statusText, pretty(text), !reply.ok);
        });
      })
      .catch(function () { show(place.dataset.failed, "", true); });
  }

  function choose() {
    var parts = field("api-operation").value.split(" ");
    if (parts.length < 2) { return; }
    field("api-method").value = parts[0];
    field("api-path").value = parts[1];
  }

  function list(made) {
    Object.keys(made.paths).forEach(function (path) {
      Object.keys(made.paths[path]).forEach(function (method) {
        var option = document.createElement("option");
        option.value = method.toUpperCase() + " " + path;
        option.textContent = option.value + " · " + (made.paths[path][method].summary || "");
        field("api-operation").append(option);
      });
    });
  }

  place.hidden = false;
  field("api-operation").addEventListener("input", choose);
  field("api-send").addEventListener("click", send);
  fetch("/v1/openapi.json", { credentials: "omit" }).then(function (reply) { return reply.json(); }).then(list)
    .catch(function () { field("api-operation").disabled = true; });
})();
