import { GatewayError } from '@gateway/contracts/gateway-error';
import { hasMasked, takeSecrets } from '@gateway/upstream/configuration/draft/take-secrets';
import { variablesIn } from '@gateway/upstream/configuration/expand-variables';
import { type Mistake, tellMistakes } from '@gateway/upstream/configuration/mistakes/configuration-error';
import type { SealedValues } from '@gateway/upstream/configuration/stored/sealed-values';

interface WrittenText {
  /** Without mistakes. */
  readonly text: string;
  /** New values of variables that the text names. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Those that are sealed already; the new ones replace them. */
  readonly before: Readonly<Record<string, string>>;
}

interface SealedText {
  /** Its secrets became variables. */
  readonly text: string;
  /** Values of variables that the text names, sealed. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The names of those that are new. */
  readonly replaced: readonly string[];
}

/**
 * Takes the secrets out of a text and seals them.
 *
 * @throws {GatewayError} `invalid_value` where one is masked, or is of a variable that the text does not name
 */
export function sealText({ text, secrets, before }: WrittenText, values: SealedValues): SealedText {
  const taken = takeSecrets(text);
  const given = { ...taken.secrets, ...secrets };
  checkSecrets(taken.text, given);
  const sealed = { ...before };
  for (const [name, value] of Object.entries(given)) sealed[name] = values.seal(name, value);
  const named = new Set(variablesIn(taken.text));
  return {
    text: taken.text,
    secrets: Object.fromEntries(Object.entries(sealed).filter(([name]) => named.has(name))),
    replaced: Object.keys(given).toSorted(),
  };
}

/** @throws {GatewayError} `invalid_value` naming the first mistakes of a text, if it has any */
export function refuseMistakes(mistakes: readonly Mistake[], consequence: string): void {
  if (mistakes.length === 0) return;
  throw new GatewayError('invalid_value', {
    message: `${consequence}: ${tellMistakes(mistakes)}`,
    path: ['text'],
  });
}

function checkSecrets(text: string, secrets: Readonly<Record<string, string>>): void {
  if (hasMasked(text) || Object.values(secrets).some(hasMasked))
    throw new GatewayError('invalid_value', {
      message: `A secret is masked in this text. Write a variable there, as in \${NAME}, or the secret itself: it is sealed when it is saved.`,
      path: ['text'],
    });
  const named = new Set(variablesIn(text));
  const unknown = Object.keys(secrets).find((name) => !named.has(name));
  if (unknown !== undefined)
    throw new GatewayError('invalid_value', {
      message: `The text names no variable \${${unknown}}.`,
      path: ['secrets', unknown],
    });
}
