import { notifications } from '@mantine/notifications';

/** Says that a change has taken place. */
export const tellInUse = (revision: number): void => {
  notifications.show({
    color: 'teal',
    message: `Revision ${revision} is in use.`,
    closeButtonProps: { 'aria-label': 'Dismiss' },
  });
};
