import './mantine.css';
import '@mantine/notifications/styles.css';
import './theme.css';

import {
  type BadgeProps,
  createTheme,
  type DrawerProps,
  MantineProvider,
  type ModalProps,
} from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createQueries } from './api/queries.ts';
import { Notices } from './parts/notify.tsx';
import { createConsoleRouter } from './router.tsx';

/** Fonts of the person's own machine: the page loads none. */
const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';
const MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace';

const CLOSE = { closeButtonProps: { 'aria-label': 'Close' } } as const satisfies Partial<
  ModalProps & DrawerProps
>;

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
  // Not by the components themselves: pages that show none of them load none.
  components: {
    Drawer: { defaultProps: CLOSE },
    Modal: { defaultProps: CLOSE },
    Badge: { defaultProps: { tt: 'none', fw: 600 } satisfies BadgeProps },
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
        <Notices />
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
