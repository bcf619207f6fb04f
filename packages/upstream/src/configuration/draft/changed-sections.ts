/** What of the configuration a change is about. */
export const CHANGED_SECTIONS = [
  'channels',
  'models',
  'conversations',
  'alerts',
  'contentLog',
  'hooks',
] as const;
