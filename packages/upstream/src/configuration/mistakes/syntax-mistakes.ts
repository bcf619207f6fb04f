import type { ErrorCode, YAMLError } from 'yaml';

/** The parser's own messages quote the file, which may have a key; these do not. */
const WORDS: Readonly<Partial<Record<ErrorCode, readonly [found: string, expected: string]>>> = {
  BAD_INDENT: ['a line that is indented by the wrong number of spaces', 'the indentation of its neighbours'],
  TAB_AS_INDENT: ['a tab', 'spaces: YAML is indented by spaces only'],
  MISSING_CHAR: ['an end that is missing', 'a closing quote or bracket, or a comma'],
  BLOCK_AS_IMPLICIT_KEY: [
    'two ":" where one belongs',
    'one name and one value, or quotes around a text with ":"',
  ],
  BAD_SCALAR_START: ['a text that begins with a sign of YAML', 'quotes around it'],
};
const OTHERWISE = ['something that is not YAML', 'valid YAML'] as const;
const UNQUOTED_VARIABLE = [
  'a variable without quotes between { and }',
  `quotes around it: "\${NAME}"`,
] as const;

interface SyntaxMistake {
  readonly offset: number;
  readonly found: string;
  readonly expected: string;
}

const twice = (text: string, offset: number): readonly [found: string, expected: string] => {
  const name = /^["']?([^\s:"']{1,80})/.exec(text.slice(offset, offset + 90))?.[1] ?? 'a name';
  return [`"${name}" for the second time`, 'each name once'];
};

const isUnquotedVariable = (text: string, offset: number): boolean =>
  /[{[,][^\n"']*\$$/.test(text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)) && text[offset] === '{';

/** The text's YAML mistakes: every repeated name, and the first other mistake, which causes the rest. */
export const syntaxMistakes = (errors: readonly YAMLError[], text: string): readonly SyntaxMistake[] => {
  const first = errors.find(({ code }) => code !== 'DUPLICATE_KEY');
  return errors
    .filter((error) => error === first || error.code === 'DUPLICATE_KEY')
    .map(({ code, pos: [offset] }) => {
      if (code === 'DUPLICATE_KEY') {
        const [found, expected] = twice(text, offset);
        return { offset, found, expected };
      }
      const words = isUnquotedVariable(text, offset) ? UNQUOTED_VARIABLE : WORDS[code];
      const [found, expected] = words ?? OTHERWISE;
      return { offset, found, expected };
    });
};
