"use strict";
/** Runs before anything is shown, so that a page never changes its colours while it loads. */
const THEME = 'docs-theme';
const storedTheme = () => {
    try {
        return localStorage.getItem(THEME);
    }
    catch {
        return null;
    }
};
const theme = storedTheme();
if (theme === 'light' || theme === 'dark')
    document.documentElement.dataset.theme = theme;
