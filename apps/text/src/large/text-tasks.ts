import type { Surroundings } from '@gateway/hooks/check';
import { surroundingsIn } from '../call/hooks/surroundings.ts';
import { type FoundText, textsIn, withTextsIn } from '../call/hooks/text-slots.ts';
import { parseBody } from '../wire/raw-json.ts';
import { bufferOf, sharedText } from './shared-bytes.ts';

/** The body of a request, or of a reply. */
export interface TextsTask {
  readonly bytes: Uint8Array;
  readonly of: 'request' | 'reply';
}

/** The texts that hooks check. */
export const textsTask = ({ bytes, of }: TextsTask): readonly FoundText[] =>
  textsIn(parseBody(bufferOf(bytes).toString()), of);

/** What a request has beside them. */
export const surroundingsTask = ({ bytes }: Pick<TextsTask, 'bytes'>): Surroundings =>
  surroundingsIn(parseBody(bufferOf(bytes).toString()));

export interface WithTextsTask extends TextsTask {
  readonly texts: readonly string[];
}

/** The body with the texts that they have put into their places. */
export const withTextsTask = ({ bytes, of, texts }: WithTextsTask): Uint8Array =>
  sharedText(JSON.stringify(withTextsIn(parseBody(bufferOf(bytes).toString()), of, texts)));
