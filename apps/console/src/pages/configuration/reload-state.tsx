import { Alert, Badge, Group, Paper, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { Configuration } from '../../api/types.ts';
import { Moment } from '../../parts/moment.tsx';
import { Facts, Names } from '../facts.tsx';
import { MistakeList } from './mistake-list.tsx';

const SOURCES: Readonly<Record<Configuration['source'], string>> = {
  file: 'a file',
  database: 'the database',
  environment: 'provider keys in the environment',
  simulator: 'the simulator, because there is no file and no provider key',
};

/** Where the configuration comes from, and whether its last change took effect. */
export function ReloadState({ of }: { of: Configuration }) {
  return (
    <Stack gap="sm" mb="md">
      {!of.isValid && (
        <Alert
          color="red"
          variant="light"
          icon={<IconAlertTriangle aria-hidden />}
          title="The last change did not take effect"
          role="alert"
        >
          <Text size="sm" c="var(--mantine-color-text)" mb="xs">
            The services continue with the previous configuration.{' '}
            {of.source === 'database' ? (
              'Correct it under "Edit".'
            ) : (
              <>
                Correct <code>{of.path}</code>; they reload it immediately.
              </>
            )}
          </Text>
          <MistakeList of={of.mistakes} />
        </Alert>
      )}
      <Paper withBorder px="md" py={6}>
        <Facts
          of={[
            ['Source', of.source === 'file' ? <code key="from">{of.path}</code> : SOURCES[of.source]],
            ...(of.revision === null ? [] : [['Revision', String(of.revision)] as const]),
            [of.revision === null ? 'Last reload' : 'Last change', <LastReload key="reload" of={of} />],
            ['Contains', `${of.channels} channels, ${of.models} models`],
            ...(of.hooks.length === 0 ? [] : [['Hooks', <Hooks key="hooks" of={of.hooks} />] as const]),
            ...(of.unknownVariables.length === 0
              ? []
              : [
                  [
                    'Variables known only to the services',
                    <Names key="names" of={of.unknownVariables} />,
                  ] as const,
                ]),
          ]}
        />
      </Paper>
    </Stack>
  );
}

const LastReload = ({ of: { lastReload, isValid } }: { of: Configuration }) =>
  lastReload === null ? (
    'never, because there is no file'
  ) : (
    <Group gap="xs">
      <Moment at={lastReload.at} />
      <Badge size="sm" variant="dot" color={isValid ? 'teal' : 'red'}>
        {isValid ? 'took effect' : 'refused'}
      </Badge>
    </Group>
  );

/** Which checks requests go through, and when. */
function Hooks({ of: hooks }: { of: Configuration['hooks'] }) {
  return (
    <Stack gap={2}>
      {hooks.map(({ name, kind, input, output, onFailure, isForAll }) => (
        <Text key={name} span size="sm" style={{ overflowWrap: 'anywhere' }}>
          <b>{name}</b> ({kind}): input {input}, output {output},{' '}
          {onFailure === 'block' ? 'blocks' : 'passes'} on failure{isForAll ? '' : ', by its rules'}
        </Text>
      ))}
    </Stack>
  );
}
