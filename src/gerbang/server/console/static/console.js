// Keys of the console. They act on the request that has the focus, never while something is being typed;
// `a` only moves the focus to the button, so that nothing is approved by one stray key.
"use strict";
(() => {
  const typing = (target) =>
    target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement ||
    (target instanceof HTMLInputElement && target.type !== "submit") || target.isContentEditable;
  const cards = () => [...document.querySelectorAll("article.card")].filter((card) => !card.closest("#run-calls"));
  const current = () => {
    const all = cards();
    return all.find((card) => card.contains(document.activeElement)) || null;
  };
  const show = (element) => {
    element.focus();
    element.scrollIntoView({ block: "nearest" });
  };
  const move = (by) => {
    const all = cards();
    if (!all.length) return;
    const place = all.indexOf(current());
    show(all[place < 0 ? 0 : Math.min(all.length - 1, Math.max(0, place + by))]);
  };
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || event.metaKey || event.isComposing) return;
    if (event.ctrlKey) {
      if (event.key === "Enter" && event.target instanceof HTMLTextAreaElement && event.target.form) {
        event.preventDefault();
        event.target.form.requestSubmit();
      }
      return;
    }
    if (event.key === "Escape" && typing(event.target)) {
      const card = event.target.closest("article.card");
      if (card) show(card);
      return;
    }
    if (typing(event.target) || event.repeat || document.body.dataset.keys === "off") return;
    if (event.key === "j" || event.key === "k") {
      if (!cards().length) return;
      event.preventDefault();
      move(event.key === "j" ? 1 : -1);
    } else if (event.key === "a" || event.key === "d" || event.key === "e") {
      const all = cards();
      const scope = current() || (all.length > 1 ? null : all[0] || document);
      const found = scope && scope.querySelector(`[data-key="${event.key}"]`);
      if (!found) return;
      event.preventDefault();
      if (event.key === "e") found.form.requestSubmit();
      else show(found);
    }
  });
})();
