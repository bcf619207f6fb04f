/** Escape stops what runs, unless it closes a dialog. */
export function stopUnlessDialog(stop: () => void): void {
  if (document.querySelector('[role="dialog"]') === null) stop();
}
