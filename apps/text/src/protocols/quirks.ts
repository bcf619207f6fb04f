import { Quirks } from '@gateway/contracts/quirks';

/** A server without peculiarities. */
export const NO_QUIRKS: Quirks = Quirks.parse({});
