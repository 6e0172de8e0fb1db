import { ServerState } from './server-state';
import { StandInProvider } from './stand-in-provider';
import { SERVER_ENV } from '../stacks/contract';

const provider = new StandInProvider(new ServerState(process.env[SERVER_ENV.TABLE] ?? ''), process.env[SERVER_ENV.SECRET] ?? '');

export const handler = provider.handle;
