import './mantine.css';
import '@mantine/notifications/styles.css';
import './theme.css';

import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createQueries } from './api/queries.ts';
import { createConsoleRouter } from './router.tsx';
import { theme } from './theme.ts';

/** Each answer of the admin service has a nonce of its own: `<style>` elements with it are allowed. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
// Where the library that stops the page's scrolling behind a dialog looks for it.
Object.assign(globalThis, { __webpack_nonce__: nonce });

const queries = createQueries({
  onSignedOut: () => router.navigate({ to: '/sign-in', search: signInSearch() }),
});
const router = createConsoleRouter(queries);
const signInSearch = () => {
  const { href, pathname } = router.state.location;
  return pathname === '/sign-in' ? router.state.location.search : { to: href };
};

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
