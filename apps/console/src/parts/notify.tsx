import type { NotificationData } from '@mantine/notifications';
import { lazy, Suspense, useSyncExternalStore } from 'react';

// What shows notices is loaded with the first of them: most people never see one.

const Notifications = lazy(() =>
  import('@mantine/notifications').then((all) => ({ default: all.Notifications })),
);

let hasNotices = false;
const watching = new Set<() => void>();

/** Says something in a corner of the page. */
export function notify(notice: NotificationData): void {
  hasNotices = true;
  for (const changed of watching) changed();
  void import('@mantine/notifications').then(({ notifications }) => notifications.show(notice));
}

const watch = (changed: () => void): (() => void) => {
  watching.add(changed);
  return () => watching.delete(changed);
};

/** Where notices are shown. */
export function Notices() {
  const isNeeded = useSyncExternalStore(watch, () => hasNotices);
  return (
    isNeeded && (
      <Suspense>
        <Notifications position="bottom-right" />
      </Suspense>
    )
  );
}
