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

const isUnquotedVariable = (text: string, offset: number): boolean =>
  /[{[,][^\n"']*\$$/.test(text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)) && text[offset] === '{';

/** The text's first mistake in YAML, which causes the rest. Names that come twice are found elsewhere. */
export const syntaxMistakes = (errors: readonly YAMLError[], text: string): readonly SyntaxMistake[] =>
  errors.slice(0, 1).map(({ code, pos: [offset] }) => {
    const words = isUnquotedVariable(text, offset) ? UNQUOTED_VARIABLE : WORDS[code];
    const [found, expected] = words ?? OTHERWISE;
    return { offset, found, expected };
  });
