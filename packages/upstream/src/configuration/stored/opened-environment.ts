import type { Environment } from '@gateway/contracts/environment';
import { expandVariables } from '../expand-variables.ts';
import type { SealedValues } from './sealed-values.ts';

interface OpenedOptions {
  /** By the names of their variables. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Null: this process cannot open them, and they count as not set. */
  readonly values: SealedValues | null;
  readonly env: Environment;
  /** Stands for variables that `env` does not have, inside of sealed values. */
  readonly placeholder?: string | undefined;
}

/** The environment with the values that are sealed beside a text. */
export function openedEnvironment({ secrets, values, env, placeholder }: OpenedOptions): Environment {
  const opened = Object.entries(secrets).flatMap(([name, sealed]) => {
    const value = values?.open(name, sealed) ?? null;
    if (value === null) return [];
    // What is sealed may name variables itself, as in "Bearer ${TOKEN}".
    const expanded = expandVariables(value, { env, placeholder });
    return expanded.mistakes.length > 0 ? [] : [[name, expanded.text] as const];
  });
  return { ...env, ...Object.fromEntries(opened) };
}
