import './mantine.css';
import '@mantine/notifications/styles.css';
import './theme.css';

import { Badge, createTheme, Drawer, MantineProvider, Modal } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createQueries } from './api/queries.ts';
import { createConsoleRouter } from './router.tsx';

/** Fonts of the person's own machine: the page loads none. */
const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';
const MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace';

const theme = createTheme({
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

/** Each answer of the admin service has a nonce of its own: `<style>` elements with it are allowed. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
// Where the library that stops the page's scrolling behind a dialog looks for it.
Object.assign(globalThis, { __webpack_nonce__: nonce });

const queries = createQueries();
const router = createConsoleRouter(queries);

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <QueryClientProvider client={queries}>
        <Notifications position="bottom-right" />
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
