import { withoutBackground } from '../endpoints/background/background-body.ts';
import { echoOf, shortEcho } from '../protocols/responses/reply/response-object.ts';
import { objectOf } from '../wire/json-object.ts';
import { parseBody } from '../wire/raw-json.ts';
import { bufferOf, sharedText } from './shared-bytes.ts';

/** The body of a background response's request as its worker gets it. */
export interface WrittenBackground {
  readonly bytes: Uint8Array;
  /** The members that its response repeats, as JSON. */
  readonly echo: string;
}

export function backgroundTask({ bytes }: { readonly bytes: Uint8Array }): WrittenBackground {
  const body = objectOf(parseBody(bufferOf(bytes).toString()));
  return {
    bytes: sharedText(JSON.stringify(withoutBackground(body))),
    echo: JSON.stringify(shortEcho(echoOf(body))),
  };
}
