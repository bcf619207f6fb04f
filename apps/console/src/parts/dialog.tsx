import { Modal, type ModalProps } from '@mantine/core';
import { useReturnedFocus } from './use-returned-focus.ts';

/** Something in front of the page. It exists only while it is open. */
export function Dialog(props: Omit<ModalProps, 'opened'>) {
  useReturnedFocus();
  return <Modal opened centered {...props} />;
}
