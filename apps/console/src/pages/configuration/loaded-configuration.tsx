import { Stack, Text } from '@mantine/core';
import { IconFileOff } from '@tabler/icons-react';
import type { Configuration } from '../../api/types.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { YamlEditor } from './yaml-editor.tsx';

/** The configuration's text, without its secrets. */
export function LoadedConfiguration({ of: { text, source, path, isValid } }: { of: Configuration }) {
  if (text === null)
    return source === 'file' || !isValid ? (
      <EmptyState icon={IconFileOff} title="A file with mistakes is not shown">
        A misspelt member could hold a secret. Paste the file under "Check a change" to see each mistake at
        its line.
      </EmptyState>
    ) : (
      <EmptyState icon={IconFileOff} title="There is no configuration file">
        Write one to <code>{path}</code>, beginning with <code>gateway.example.yaml</code>: it takes effect
        while the gateway runs.
      </EmptyState>
    );
  return (
    <Stack gap="xs">
      <Text size="sm" c="dimmed">
        Secrets are masked, comments are left out. Variables are shown by their names.
      </Text>
      <YamlEditor label="Configuration as loaded" text={text} />
    </Stack>
  );
}
