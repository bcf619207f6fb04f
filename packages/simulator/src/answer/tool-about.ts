import type { CallerTool } from './prompt.ts';

const MAX_TOOLS = 200;
const MAX_DESCRIPTION_CHARACTERS = 300;

/** Words that are in the names and descriptions of many tools, and in prompts about anything. */
const COMMON = new Set(
  `a about after all also an and answer any anything are as at back be before by call can city code could count current data
  do does doing done each example existing file files find first for from function get gets give given go has have hello help here how i if in
  information input into is it its just later like list look make me model more most my name need new no not now number of on one only or other
  out output please prompt provide read request result results return returned returns run same say search see send sentence set should show some
  string take tell test text than that the their them then there these they thing this time to tool tools two type up update use used user uses
  using value values want was what when where which who will with word words work would write you your`.split(
    /\s+/,
  ),
);

/** `getWeather`, `get_weather` and `Get weather` have the same words; a plural is its singular. */
const wordsOf = (text: string): string[] =>
  text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .map((word) => (word.length > 4 && word.endsWith('s') ? word.slice(0, -1) : word));

const significantWords = (text: string): Set<string> =>
  new Set(wordsOf(text).filter((word) => word.length > 2 && !COMMON.has(word) && !/^\d+$/.test(word)));

const commonTo = (words: ReadonlySet<string>, promptWords: ReadonlySet<string>): number =>
  [...words].filter((word) => promptWords.has(word)).length;

/** A prompt is about a tool if they share one significant word of its name, or two of its description. */
const scoreOf = ({ name, description }: CallerTool, promptWords: ReadonlySet<string>): number => {
  const inName = commonTo(significantWords(name), promptWords);
  const inDescription = commonTo(
    significantWords(description.slice(0, MAX_DESCRIPTION_CHARACTERS)),
    promptWords,
  );
  return inName === 0 && inDescription < 2 ? 0 : 2 * inName + inDescription;
};

/** The tool that a prompt is about, as a model would decide; of several equal ones the first. */
export const toolAbout = (text: string, tools: readonly CallerTool[]): CallerTool | null => {
  const promptWords = new Set(wordsOf(text));
  let best: { readonly tool: CallerTool | null; readonly score: number } = { tool: null, score: 0 };
  for (const tool of tools.slice(0, MAX_TOOLS)) {
    const score = scoreOf(tool, promptWords);
    if (score > best.score) best = { tool, score };
  }
  return best.tool;
};
