import { Group, Loader, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { PageFailed } from './page/page-failed.tsx';
import { SideDrawer } from './side-drawer.tsx';

interface DetailsDrawerProps<One> {
  /** What is shown; undefined: it is loaded. */
  readonly of: One | undefined;
  /** What it is called while it is loaded: `Key`. */
  readonly kind: string;
  readonly titleOf: (one: One) => string;
  /** Beside the title. */
  readonly badge: (one: One) => ReactNode;
  readonly children: (one: One) => ReactNode;
  /** Why it could not be loaded. */
  readonly error: Error | null;
  readonly onRetry: () => void;
  readonly onClose: () => void;
}

/** One thing of a list, beside the list. */
export function DetailsDrawer<One>(props: DetailsDrawerProps<One>) {
  const { of: one, kind, titleOf, badge, children, error, onRetry, onClose } = props;
  return (
    <SideDrawer
      onClose={onClose}
      title={
        <Group gap="xs" wrap="nowrap">
          <Text fw={600} truncate>
            {one === undefined ? kind : titleOf(one)}
          </Text>
          {one !== undefined && badge(one)}
        </Group>
      }
    >
      {one === undefined && error !== null && <PageFailed error={error} reset={onRetry} />}
      {one === undefined && error === null && <Loader role="status" aria-label="Loading" />}
      {one !== undefined && children(one)}
    </SideDrawer>
  );
}
