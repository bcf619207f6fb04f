import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'smol-toml';

export interface Place {
  /** Where the agents' packages are installed. */
  readonly packages: string;
  /** A home of its own, with nothing in it. */
  readonly home: string;
  /** Where programs are looked for, as `PATH` says it. */
  readonly searchPath: string;
  readonly url: string;
  readonly key: string;
  readonly model: string;
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A coding agent as its users install it. */
export interface Agent {
  readonly name: string;
  readonly package: string;
  /** The transport that it is set to use. */
  readonly transport: 'http' | 'websocket';
  /** Its shell tool, and the arguments with which it runs a command. */
  readonly shell: { readonly tool: string; input(command: string): object };
  /** How it is started on a task with nobody at the keyboard. */
  command(place: Place, task: string): Promise<Command>;
}

/** What Codex needs besides the gateway's address, as docs/coding-agents.md has it. */
export const CODEX_SETTINGS = {
  model_provider: 'gateway',
  model_providers: {
    gateway: { name: 'Gateway', env_key: 'GATEWAY_KEY', wire_api: 'responses', supports_websockets: true },
  },
};

const codexOver = (transport: Agent['transport']): Agent => ({
  name: transport === 'http' ? 'Codex CLI' : 'Codex CLI with a WebSocket',
  package: '@openai/codex@^0.169.0',
  transport,
  shell: { tool: 'exec_command', input: (cmd) => ({ cmd }) },
  command: async ({ packages, home, url, key, model }, task) => {
    const folder = join(home, '.codex');
    await mkdir(folder);
    const { gateway } = CODEX_SETTINGS.model_providers;
    const provider = { ...gateway, base_url: `${url}/v1`, supports_websockets: transport === 'websocket' };
    const settings = { ...CODEX_SETTINGS, model, model_providers: { gateway: provider } };
    await writeFile(join(folder, 'config.toml'), stringify(settings));
    const program = join(packages, 'node_modules', '@openai', 'codex', 'bin', 'codex.js');
    return {
      file: process.execPath,
      args: [program, 'exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', task],
      env: { CODEX_HOME: folder, GATEWAY_KEY: key },
    };
  },
});

/** Claude Code's settings, as docs/coding-agents.md has them: a program says the key. */
export const claudeSettings = (url: string, apiKeyHelper: string) => ({
  env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_DEFAULT_HAIKU_MODEL: 'claude-haiku-4-5' },
  apiKeyHelper,
});

const claudeCode: Agent = {
  name: 'Claude Code',
  package: '@anthropic-ai/claude-code@^2.1.329',
  transport: 'http',
  shell: { tool: 'Bash', input: (command) => ({ command, description: 'Writes the proof' }) },
  command: async ({ packages, home, url, key, model }, task) => {
    const folder = join(home, '.claude');
    await mkdir(folder);
    const helper = join(home, 'gateway-key');
    await writeFile(helper, `#!/bin/sh\necho '${key}'\n`, { mode: 0o700 });
    await writeFile(join(folder, 'settings.json'), JSON.stringify(claudeSettings(url, helper)));
    return {
      file: join(
        packages,
        'node_modules',
        '@anthropic-ai',
        `claude-code-${process.platform}-${process.arch}`,
        'claude',
      ),
      args: ['-p', task, '--dangerously-skip-permissions', '--model', model],
      env: {
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        // It runs as root without confirmations only in what it knows to be a sandbox.
        IS_SANDBOX: '1',
      },
    };
  },
};

const geminiCli: Agent = {
  name: 'Gemini CLI',
  package: '@google/gemini-cli@^0.61.0',
  transport: 'http',
  shell: {
    tool: 'run_shell_command',
    input: (command) => ({ command, description: 'Writes the proof' }),
  },
  command: async ({ packages, home, url, key, model }, task) => {
    const folder = join(home, '.gemini');
    await mkdir(folder);
    const settings = {
      security: { auth: { selectedType: 'gemini-api-key' } },
      privacy: { usageStatisticsEnabled: false },
    };
    await writeFile(join(folder, 'settings.json'), JSON.stringify(settings));
    const program = join(packages, 'node_modules', '@google', 'gemini-cli', 'bundle', 'gemini.js');
    return {
      file: process.execPath,
      args: [program, '--prompt', task, '--approval-mode', 'yolo', '--skip-trust', '--model', model],
      env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: key },
    };
  },
};

export const AGENTS: readonly Agent[] = [codexOver('http'), codexOver('websocket'), claudeCode, geminiCli];
