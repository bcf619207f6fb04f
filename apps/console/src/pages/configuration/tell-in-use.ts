import { notify } from '../../parts/notify.tsx';

/** Says that a change has taken place. */
export const tellInUse = (revision: number): void => {
  notify({
    color: 'teal',
    message: `Revision ${revision} is in use.`,
    closeButtonProps: { 'aria-label': 'Dismiss' },
  });
};
