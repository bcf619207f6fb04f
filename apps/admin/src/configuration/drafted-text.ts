import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ConfigurationEdit } from '@gateway/upstream/configuration/draft/configuration-edit';
import { editText, ImpossibleEdit } from '@gateway/upstream/configuration/draft/edit-text';
import { shownText } from '@gateway/upstream/configuration/draft/shown-text';
import { checkedText } from './checked-text.ts';

// For threads: how a draft's text comes about.

/**
 * The configuration in use without its secrets.
 *
 * @throws {GatewayError} where it has mistakes: then it is not known what of it is secret
 */
export async function shownBase({ base, path }: { base: string; path: string }): Promise<string> {
  const { mistakes } = await checkedText(base, path);
  const [first] = mistakes;
  if (first === undefined) return shownText(base);
  throw new GatewayError(
    'service_unavailable',
    `The configuration has mistakes${first.line === null ? '' : `, the first in line ${first.line}`}. Correct it before you edit it here.`,
  );
}

/** @throws {GatewayError} `invalid_value` for an edit that leads nowhere */
export function editedDraft(text: string, edits: readonly ConfigurationEdit[]): string {
  try {
    return editText(text, edits);
  } catch (error) {
    if (!(error instanceof ImpossibleEdit)) throw error;
    throw new GatewayError('invalid_value', { message: error.message, path: ['edits', error.at] });
  }
}
