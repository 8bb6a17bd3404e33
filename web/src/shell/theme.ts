// The theme of this device. public/theme.js applies it before the first paint.
export type Theme = "system" | "light" | "dark";

const storedAs = "hawser.theme";

export function readTheme(): Theme {
  const theme = localStorage.getItem(storedAs);
  return theme === "light" || theme === "dark" ? theme : "system";
}

export function applyTheme(theme: Theme): void {
  if (theme === "system") {
    localStorage.removeItem(storedAs);
    delete document.documentElement.dataset["theme"];
  } else {
    localStorage.setItem(storedAs, theme);
    document.documentElement.dataset["theme"] = theme;
  }
}
