import type { JsonObject } from '../json-value.ts';
import { invalidConverse } from './check-request.ts';

/** @throws ProviderError as Bedrock refuses members that a model's schema does not have */
export function refuseOthers(body: JsonObject, known: readonly string[], path = '#'): void {
  const unknown = Object.keys(body).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw invalidConverse(
      `Malformed input request: ${path}: extraneous key [${unknown}] is not permitted, please reformat your input and try again.`,
    );
}

/** @throws ProviderError for a value that is none of these */
export function oneOf(value: unknown, values: readonly unknown[], name: string): void {
  if (value !== undefined && !values.includes(value))
    throw invalidConverse(
      `Malformed input request: #/${name}: ${JSON.stringify(value)} is not a valid enum value`,
    );
}
