import type { Surroundings } from '@gateway/hooks/check';
import { inThread, type Waiting } from '../../large/in-thread.ts';
import { bufferOf, isLarge, sharedBytes } from '../../large/shared-bytes.ts';
import { parseBody } from '../../wire/raw-json.ts';
import { surroundingsIn } from './surroundings.ts';
import { type FoundText, textsIn, withTextsIn } from './text-slots.ts';

/** The texts of a body that hooks check. */
export interface BodyTexts {
  readonly found: readonly FoundText[];
  /** What a request has beside them. */
  surroundings(): Promise<Surroundings>;
  /** The body with others in their places, which are written anew. */
  written(texts: readonly string[]): Promise<Buffer>;
}

/** Reads them, those of a large body in the thread. What is no JSON has none: whoever reads the body says so. */
export async function bodyTexts(
  bytes: Buffer,
  of: 'request' | 'reply',
  { isInThread = isLarge(bytes.length), ...waiting }: Waiting & { readonly isInThread?: boolean },
): Promise<BodyTexts> {
  if (isInThread) {
    const task = { bytes: sharedBytes(bytes), of };
    return {
      found: await inThread('texts', task, waiting),
      surroundings: () => inThread('surroundings', { bytes: task.bytes }, waiting),
      written: async (texts) => bufferOf(await inThread('withTexts', { ...task, texts }, waiting)),
    };
  }
  const body = parsedOf(bytes);
  return {
    found: textsIn(body, of),
    surroundings: async () => surroundingsIn(body),
    written: async (texts) => Buffer.from(JSON.stringify(withTextsIn(body, of, texts))),
  };
}

function parsedOf(bytes: Buffer): unknown {
  try {
    return parseBody(bytes.toString());
  } catch {
    return null;
  }
}
