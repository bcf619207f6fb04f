import { useEffect, useState } from 'react';

/**
 * Gives the focus back when a dialog that exists only while it is open goes away: to what had it before, or to the page where that is
 * gone. Otherwise it would be on the document's body, where neither keys nor screen readers continue.
 */
export function useReturnedFocus(): void {
  // Taken before the dialog is drawn, whose fields may take the focus.
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      // After the dialog's own elements are gone.
      setTimeout(() => {
        if (document.activeElement !== null && document.activeElement !== document.body) return;
        const canTakeIt = before instanceof HTMLElement && before !== document.body && before.isConnected;
        const target = canTakeIt ? before : document.getElementById('page');
        target?.focus({ preventScroll: true });
      });
    },
    [before],
  );
}
