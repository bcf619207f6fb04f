import { BY_BEGINNING } from './unsupported.ts';

const UNKNOWN = 'It is not known to the import.';

export const reasonFor = (reasons: Readonly<Record<string, string>>, name: string): string =>
  (Object.hasOwn(reasons, name) ? reasons[name] : undefined) ??
  BY_BEGINNING.find(([beginning]) => name.startsWith(beginning))?.[1] ??
  UNKNOWN;
