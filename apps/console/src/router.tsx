import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { ApiError } from './api/client.ts';
import { sessionQuery } from './api/queries.ts';
import { isFor, PAGES, pagesFor } from './pages.ts';
import { PageFailed } from './parts/page-failed.tsx';
import { PageMissing } from './parts/page-missing.tsx';
import { Shell } from './shell/shell.tsx';
import { SignInPage, SignInSearch } from './shell/sign-in-page.tsx';

const rootRoute = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Outlet,
  notFoundComponent: PageMissing,
});

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  component: SignInPage,
  validateSearch: SignInSearch,
});

/** Everything behind the sign-in. */
const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'shell',
  component: Shell,
  beforeLoad: async ({ context: { queries }, location }) => {
    try {
      await queries.ensureQueryData(sessionQuery);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      throw redirect({ to: '/sign-in', search: { to: location.href } });
    }
  },
});

const firstRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/',
  beforeLoad: async ({ context: { queries } }) => {
    const [first] = pagesFor(await queries.ensureQueryData(sessionQuery));
    throw redirect({ href: first?.path ?? '/sign-in' });
  },
});

/** A page that is not for the person's role is like one that does not exist. */
const pageRoutes = PAGES.map((page) =>
  createRoute({
    getParentRoute: () => shellRoute,
    path: page.path,
    component: lazyRouteComponent(page.load),
    beforeLoad: async ({ context: { queries } }) => {
      if (!isFor(await queries.ensureQueryData(sessionQuery), page)) throw notFound();
    },
  }),
);

const routeTree = rootRoute.addChildren([signInRoute, shellRoute.addChildren([firstRoute, ...pageRoutes])]);

export const createConsoleRouter = (queries: QueryClient) =>
  createRouter({
    routeTree,
    basepath: '/console',
    context: { queries },
    defaultPreload: 'intent',
    defaultErrorComponent: PageFailed,
    defaultNotFoundComponent: PageMissing,
    scrollRestoration: true,
  });

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}
