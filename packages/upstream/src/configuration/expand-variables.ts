import type { Environment } from '@gateway/contracts/environment';
import { lookUp } from '@gateway/contracts/look-up';
import { characters, isShownName } from './mistakes/shown-name.ts';

/** Where `${NAME}` gets its values. */
export interface Variables {
  readonly env: Environment;
  /**
   * Stands for every variable that `env` does not have: for a process that checks the file and calls no provider. What holds such
   * a variable is not checked. Absent: such a variable is a mistake.
   */
  readonly placeholder?: string | undefined;
  /** The section of the file that is read where its variables are missing, too. */
  readonly optional?: string | undefined;
}

interface Expansion {
  readonly text: string;
  readonly mistakes: readonly { readonly found: string; readonly expected: string }[];
  /** Whether the placeholder is in the text. */
  readonly isUnknown: boolean;
}

const VARIABLE = /\$\$\{|\$\{([^}]*)\}?/g;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Replaces `${NAME}` by the environment's value; `$${` means a plain `${`.
 * A variable that is missing or empty is a mistake: Compose passes unset variables on as empty ones.
 */
export function expandVariables(text: string, { env, placeholder }: Variables): Expansion {
  const mistakes: { found: string; expected: string }[] = [];
  let isUnknown = false;
  const replaced = text.replace(VARIABLE, (whole: string, name: string | undefined) => {
    if (whole === '$${') return '${';
    if (name === undefined || !whole.endsWith('}') || !NAME.test(name)) {
      mistakes.push({
        found: isShownName(whole) ? `"${whole.slice(0, 40)}"` : `\${ and a text of ${characters(name ?? '')}`,
        expected: `the name of an environment variable, as in \${NAME} (write $\${ for a plain \${)`,
      });
      return '';
    }
    const value = lookUp(env, name);
    if (value) return value;
    if (placeholder !== undefined) {
      isUnknown = true;
      return placeholder;
    }
    const shown = isShownName(name) ? name : 'a variable whose name is not shown';
    mistakes.push({
      found: `${shown === name ? `\${${name}}` : shown}, which is ${value === '' ? 'empty' : 'not set'}`,
      expected: shown === name ? `the environment variable ${name} to be set` : 'a variable that is set',
    });
    return '';
  });
  return { text: replaced, mistakes, isUnknown };
}

/** Stands for variables of the optional section, whose schema takes it for any text. */
export const NOT_HERE = 'http://not-known-here';

/** The variables that a text names. */
export const variablesIn = (text: string): string[] =>
  [
    ...new Set([...text.matchAll(VARIABLE)].flatMap(([, name = '']) => (NAME.test(name) ? [name] : []))),
  ].toSorted();
