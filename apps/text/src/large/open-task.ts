import { Opener, type Opening } from '../compaction/opener.ts';
import type { Dropped } from '../neutral/losses.ts';
import { parseBody } from '../wire/raw-json.ts';
import { compactionSeals } from '../wire/tokens/compaction-seal.ts';
import { bufferOf, sharedText } from './shared-bytes.ts';

export interface OpenTask {
  readonly bytes: Uint8Array;
  readonly opening: Opening;
  /** Of the seals. */
  readonly key: Uint8Array;
}

/** A body with its compactions opened; null where it stays as it is. */
export type OpenedBody = { readonly bytes: Uint8Array; readonly dropped: readonly Dropped[] } | null;

/** Opens the compactions in a body. @throws {GatewayError} as `openCompactions` */
export function openTask({ bytes, opening, key }: OpenTask): OpenedBody {
  const opener = new Opener(opening, compactionSeals(key));
  const body = opener.open(parseBody(bufferOf(bytes).toString()));
  return opener.hasChanged ? { bytes: sharedText(JSON.stringify(body)), dropped: opener.dropped } : null;
}
