import { Badge, createTheme, Drawer, Modal } from '@mantine/core';

/** Fonts of the person's own machine: the page loads none. */
const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';
const MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace';

export const theme = createTheme({
  primaryColor: 'indigo',
  // Shades with which white text on a filled button, and coloured text on the page, have a contrast of 4.5 at least.
  primaryShade: { light: 7, dark: 7 },
  autoContrast: true,
  fontFamily: SANS,
  fontFamilyMonospace: MONO,
  headings: { fontFamily: SANS, fontWeight: '650' },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Drawer: Drawer.extend({ defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } }),
    Modal: Modal.extend({ defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } }),
    Badge: Badge.extend({ defaultProps: { tt: 'none', fw: 600 } }),
  },
});
