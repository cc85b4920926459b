(function () {
  "use strict";
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const choice = localStorage.getItem("asct-theme");
    if (choice === "light" || choice === "dark") root.dataset.theme = choice;
  } catch (error) {
    // Without access to storage, the page uses the system's colors.
  }
})();
