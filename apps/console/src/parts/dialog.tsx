import type { ModalProps } from '@mantine/core';
import { lazy, Suspense } from 'react';

const OpenModal = lazy(() => import('./overlays.tsx').then((all) => ({ default: all.OpenModal })));

/** Something in front of the page. It exists only while it is open. */
export const Dialog = (props: Omit<ModalProps, 'opened'>) => (
  <Suspense>
    <OpenModal {...props} />
  </Suspense>
);
