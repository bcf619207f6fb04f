import { Anchor } from '@mantine/core';
import { IconMapOff } from '@tabler/icons-react';
import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  Link,
  lazyRouteComponent,
  notFound,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import type { ComponentType } from 'react';
import { BASE_PATH } from './api/base-path.ts';
import { ApiError } from './api/client.ts';
import { sessionQuery } from './api/queries.ts';
import { isFor, PAGES, type PagePath, pagesFor } from './pages.ts';
import { EmptyState } from './parts/empty-state.tsx';
import { RouteFailed } from './parts/page/page-failed.tsx';
import { Shell } from './shell/shell.tsx';
import { SignInSearch } from './shell/sign-in-search.ts';
import { SIGNED_IN_PATH } from './shell/signed-in-elsewhere.ts';

const rootRoute = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Outlet,
  notFoundComponent: PageMissing,
});

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  component: lazyRouteComponent(() => import('./shell/sign-in-page.tsx')),
  validateSearch: SignInSearch,
});

/** Where the identity provider leads back to when a session that had ended is continued in another tab. */
const signedInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: SIGNED_IN_PATH,
  component: lazyRouteComponent(() => import('./shell/signed-in-page.tsx')),
});

/** Where the link of an invitation leads. */
const setPasswordRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/set-password',
  component: lazyRouteComponent(() => import('./shell/set-password-page.tsx')),
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

/** Each page is loaded when it is opened for the first time. */
const LOAD: Readonly<Record<PagePath, () => Promise<{ default: ComponentType }>>> = {
  '/my-key': () => import('./pages/my-key/my-key-page.tsx'),
  '/overview': () => import('./pages/overview/overview-page.tsx'),
  '/requests': () => import('./pages/requests/requests-page.tsx'),
  '/usage': () => import('./pages/usage/usage-page.tsx'),
  '/playground': () => import('./pages/playground/playground-page.tsx'),
  '/keys': () => import('./pages/keys/keys-page.tsx'),
  '/teams': () => import('./pages/teams/teams-page.tsx'),
  '/people': () => import('./pages/people/people-page.tsx'),
  '/roles': () => import('./pages/roles/roles-page.tsx'),
  '/channels': () => import('./pages/channels/channels-page.tsx'),
  '/models': () => import('./pages/models/models-page.tsx'),
  '/jobs': () => import('./pages/jobs/jobs-page.tsx'),
  '/webhooks': () => import('./pages/webhooks/webhooks-page.tsx'),
  '/configuration': () => import('./pages/configuration/configuration-page.tsx'),
  '/alerts': () => import('./pages/alerts/alerts-page.tsx'),
  '/audit': () => import('./pages/audit/audit-page.tsx'),
  '/sessions': () => import('./pages/sessions/sessions-page.tsx'),
};

/** A page that is not for the person's role is like one that does not exist. */
const pageRoutes = PAGES.map((page) =>
  createRoute({
    getParentRoute: () => shellRoute,
    path: page.path,
    component: lazyRouteComponent(LOAD[page.path]),
    beforeLoad: async ({ context: { queries } }) => {
      if (!isFor(await queries.ensureQueryData(sessionQuery), page)) throw notFound();
    },
  }),
);

/** The pages of a single key, team, model or channel, below their lists. */
const LOAD_LIFE = {
  '/keys': () => import('./pages/keys/key-page.tsx'),
  '/teams': () => import('./pages/teams/team-page.tsx'),
  '/models': () => import('./pages/models/model-page.tsx'),
  '/channels': () => import('./pages/channels/channel-page.tsx'),
} as const satisfies Partial<typeof LOAD>;

/** They are for those who see the list. */
const lifeRoutes = Object.entries(LOAD_LIFE).map(([path, load]) =>
  createRoute({
    getParentRoute: () => shellRoute,
    path: `${path}/$id`,
    component: lazyRouteComponent(load),
    beforeLoad: async ({ context: { queries } }) => {
      const session = await queries.ensureQueryData(sessionQuery);
      if (!PAGES.some((page) => page.path === path && isFor(session, page))) throw notFound();
    },
  }),
);

const routeTree = rootRoute.addChildren([
  signInRoute,
  signedInRoute,
  setPasswordRoute,
  shellRoute.addChildren([firstRoute, ...pageRoutes, ...lifeRoutes]),
]);

export const createConsoleRouter = (queries: QueryClient) =>
  createRouter({
    routeTree,
    basepath: `${BASE_PATH}/console`,
    context: { queries },
    defaultPreload: 'intent',
    defaultErrorComponent: RouteFailed,
    defaultNotFoundComponent: PageMissing,
    scrollRestoration: true,
  });

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}

function PageMissing() {
  return (
    <EmptyState icon={IconMapOff} title="Page not found">
      The address may be old or mistyped, or the page is not for your role.{' '}
      <Anchor component={Link} to="/" inherit>
        Go to the home page
      </Anchor>
    </EmptyState>
  );
}
