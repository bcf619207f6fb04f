const MAX_LINES = 5_000;

/** The latest lines of one process. */
export interface LineLog {
  add(line: string): void;
  lines(): string[];
}

export function createLineLog(): LineLog {
  const lines: string[] = [];
  return {
    add: (line) => {
      lines.push(line);
      if (lines.length > 2 * MAX_LINES) lines.splice(0, lines.length - MAX_LINES);
    },
    lines: () => lines.slice(-MAX_LINES),
  };
}
