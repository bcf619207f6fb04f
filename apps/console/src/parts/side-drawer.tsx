import { Drawer, type DrawerProps } from '@mantine/core';
import { useReturnedFocus } from './use-returned-focus.ts';

/** Something beside the page. It exists only while it is open. */
export function SideDrawer(props: Omit<DrawerProps, 'opened'>) {
  useReturnedFocus();
  return <Drawer opened position="right" size="lg" {...props} />;
}
