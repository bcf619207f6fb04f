import { lookUp } from '@gateway/contracts/look-up';

interface Expansion {
  readonly text: string;
  readonly mistakes: readonly { readonly found: string; readonly expected: string }[];
}

/**
 * Replaces `${NAME}` by the environment's value; `$${` means a plain `${`.
 * A variable that is missing or empty is a mistake: Compose passes unset variables on as empty ones.
 */
export const expandVariables = (
  text: string,
  env: Readonly<Record<string, string | undefined>>,
): Expansion => {
  const mistakes: { found: string; expected: string }[] = [];
  const replaced = text.replace(/\$\$\{|\$\{([^}]*)\}?/g, (whole: string, name: string | undefined) => {
    if (whole === '$${') return '${';
    if (name === undefined || !whole.endsWith('}') || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      mistakes.push({
        found: `"${whole.slice(0, 40)}"`,
        expected: `the name of an environment variable, as in \${NAME} (write $\${ for a plain \${)`,
      });
      return '';
    }
    const value = lookUp(env, name);
    if (value === undefined || value === '') {
      mistakes.push({
        found: `\${${name}}, which is ${value === '' ? 'empty' : 'not set'}`,
        expected: `the environment variable ${name} to be set`,
      });
      return '';
    }
    return value;
  });
  return { text: replaced, mistakes };
};
