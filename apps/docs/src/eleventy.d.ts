/** What is used of Eleventy, which has no types of its own. */
declare module '@11ty/eleventy' {
  import type MarkdownIt from 'markdown-it';

  export interface EleventyConfiguration {
    addTemplate(path: string, content: unknown, data?: Readonly<Record<string, unknown>>): void;
    amendLibrary(name: 'md', amend: (library: MarkdownIt) => void): void;
    setQuietMode(isQuiet: boolean): void;
  }

  export default class Eleventy {
    constructor(
      input: string,
      output: string,
      options: { quietMode: boolean; configPath: null; config(configuration: EleventyConfiguration): void },
    );
    toJSON(): Promise<unknown>;
  }
}
