import { Drawer, type DrawerProps, Modal, type ModalProps } from '@mantine/core';
import { useReturnedFocus } from './use-returned-focus.ts';

/** What `dialog.tsx` and `side-drawer.tsx` load when something is opened. */
export function OpenModal(props: Omit<ModalProps, 'opened'>) {
  useReturnedFocus();
  return <Modal opened centered {...props} />;
}

export function OpenDrawer(props: Omit<DrawerProps, 'opened'>) {
  useReturnedFocus();
  return <Drawer opened position="right" size="lg" {...props} />;
}
