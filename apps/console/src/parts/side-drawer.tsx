import type { DrawerProps } from '@mantine/core';
import { lazy, Suspense } from 'react';

const OpenDrawer = lazy(() => import('./overlays.tsx').then((all) => ({ default: all.OpenDrawer })));

/** Something beside the page. It exists only while it is open. */
export const SideDrawer = (props: Omit<DrawerProps, 'opened'>) => (
  <Suspense>
    <OpenDrawer {...props} />
  </Suspense>
);
