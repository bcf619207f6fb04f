import { withoutDirectives } from '../script/directives.ts';
import type { CallerTool, Prompt } from './prompt.ts';
import { toolAbout } from './tool-about.ts';

const USE_TOOLS = /\buse (?:the )?tools? ([\w-]+(?:(?:,? and |, ?)[\w-]+)*)( twice)?/i;
const WEB_SEARCH = /\bsearch the (?:web|internet)\b|\buse (?:the )?tool web_search/i;
const FILE_SEARCH = /\bsearch the files?\b|\buse (?:the )?tool file_search/i;
const MAX_PROMPT_CHARACTERS = 10_000;

const HOSTED_NAMES = {
  webSearch: ['web_search', 'web_search_preview'],
  fileSearch: ['file_search'],
} as const;

/** The tools that the model uses. */
export interface SelectedTools {
  readonly calls: readonly CallerTool[];
  readonly webSearch: boolean;
  readonly fileSearch: boolean;
}

const isChosen = (prompt: Prompt, names: readonly string[]): boolean =>
  prompt.toolChoice.mode === 'named' &&
  names.some((name) => prompt.toolChoice.mode === 'named' && prompt.toolChoice.name.startsWith(name));

const promptedCalls = ({ userText, tools }: Prompt): CallerTool[] => {
  const match = USE_TOOLS.exec(userText.slice(0, MAX_PROMPT_CHARACTERS));
  if (!match) return [];
  const names = (match[1] ?? '').split(/,? and |, ?/);
  const calls = names.flatMap((name) => tools.filter((tool) => tool.name === name));
  return match[2] ? [...calls, ...calls] : calls;
};

/** A prompt for structured output, or with a directive, gets no guessed call. */
const guessedCalls = (prompt: Prompt): CallerTool[] => {
  const text = withoutDirectives(prompt.userText.slice(0, MAX_PROMPT_CHARACTERS));
  if (prompt.format !== null || text !== prompt.userText.slice(0, MAX_PROMPT_CHARACTERS)) return [];
  const tool = toolAbout(text, prompt.tools);
  return tool ? [tool] : [];
};

/**
 * Decides like a model: forced choices first, then the prompt's words (`use tool NAME`, `use tools A and
 * B`, `use tool NAME twice`, `search the web`, `search the files`), then the tool that it is about; no tool after results.
 *
 * @param guesses whether a tool may be called that the prompt does not name in these words
 */
export const selectTools = (prompt: Prompt, guesses: boolean): SelectedTools => {
  const { toolChoice, tools, hosted, userText } = prompt;
  const nothing = { calls: [], webSearch: false, fileSearch: false };
  if (toolChoice.mode === 'none') return nothing;
  if (toolChoice.mode === 'auto' && prompt.toolResults.length > 0) return nothing;

  const text = userText.slice(0, MAX_PROMPT_CHARACTERS);
  const webSearch = hosted.webSearch && (isChosen(prompt, HOSTED_NAMES.webSearch) || WEB_SEARCH.test(text));
  const fileSearch =
    hosted.fileSearch && (isChosen(prompt, HOSTED_NAMES.fileSearch) || FILE_SEARCH.test(text));
  const prompted = promptedCalls(prompt);
  const limited = (calls: readonly CallerTool[]) => (prompt.parallelCalls ? calls : calls.slice(0, 1));

  if (toolChoice.mode === 'named') {
    const named = tools.filter((tool) => tool.name === toolChoice.name);
    const same = prompted.filter((tool) => tool.name === toolChoice.name);
    return { calls: limited(same.length > 0 ? same : named), webSearch, fileSearch };
  }
  if (toolChoice.mode === 'required' && prompted.length === 0 && !webSearch && !fileSearch) {
    const first = toolAbout(text, tools) ?? tools[0];
    if (first) return { ...nothing, calls: [first] };
    return { ...nothing, webSearch: hosted.webSearch, fileSearch: !hosted.webSearch && hosted.fileSearch };
  }
  const calls = prompted.length > 0 || webSearch || fileSearch || !guesses ? prompted : guessedCalls(prompt);
  return { calls: limited(calls), webSearch, fileSearch };
};
