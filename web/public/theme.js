// Runs before the first paint: applies the theme that this person has chosen on this device. Without a choice, the
// system decides. src/shell/theme.ts writes the choice.
try {
  const theme = localStorage.getItem("hawser.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the system decides.
}
