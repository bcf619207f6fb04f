import { serveTasks } from '@gateway/service-kit/threads/serve-tasks';
import { type ReadReply, type ReplyTask, readReply } from './read-reply.ts';

serveTasks<ReplyTask, ReadReply>((task) => ({ result: readReply(task) }));
