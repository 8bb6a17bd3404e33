// The scripted model, for tests and the demo world. It is part of the command hawser, whose demo uses it too;
// tests of other workspaces import it from here.
export {
  startScriptedModel,
  type ModelRequest,
  type ScriptedModel,
} from "@hawser/cli/demo/scripted-model/scripted-model.ts";
