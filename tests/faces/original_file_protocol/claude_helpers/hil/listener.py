# src/claude_helpers/hil/listener.py
import time
import json
import os
import threading
from pathlib import Path
from collections import deque
from watchdog.observers import Observer
from watchdog.events import FileSystemEventHandler
from .dialog import show_dialog
from ..config import check_config

class MultiAgentQuestionHandler(FileSystemEventHandler):
    def __init__(self, helpers_dir: Path):
        self.helpers_dir = helpers_dir
        self.questions_dir = helpers_dir / "questions"
        self.answers_dir = helpers_dir / "answers"
        self.agents_dir = helpers_dir / "agents"
        self.queue_dir = helpers_dir / "queue"
        
        # Thread-safe question queue
        self.question_queue = deque()
        self.queue_lock = threading.Lock()
        self.active_agents = {}
        
        # Ensure directories exist
        for dir_path in [self.questions_dir, self.answers_dir, self.agents_dir, self.queue_dir]:
            dir_path.mkdir(exist_ok=True)
        
        # Start question processor thread
        self.processor_thread = threading.Thread(target=self._process_queue, daemon=True)
        self.processor_thread.start()
        
    def on_created(self, event):
        """Handle new question files"""
        if event.is_directory:
            return
            
        path = Path(event.src_path)
        if path.parent == self.questions_dir and path.name.startswith('q_'):
            self.handle_question(path)
    
    def handle_question(self, question_file: Path):
        """Process new question from agent"""
        time.sleep(0.1)  # Ensure file is fully written
        
        try:
            with open(question_file, 'r') as f:
                question = json.load(f)
        except (json.JSONDecodeError, FileNotFoundError):
            print(f"ERROR: Could not read question file: {question_file}")
            return
        
        # Update agent registry
        self._update_agent_registry(question)
        
        # Add to queue
        with self.queue_lock:
            self.question_queue.append((question_file, question))
            self._update_queue_file()
        
        agent_name = question.get('agent_name', question.get('agent_id', 'Unknown'))
        print(f"[Agent {agent_name}] Question queued: {question['content'][:50]}...")
    
    def _process_queue(self):
        """Process questions sequentially"""
        while True:
            question_item = None
            
            with self.queue_lock:
                if self.question_queue:
                    question_item = self.question_queue.popleft()
                    self._update_queue_file()
            
            if question_item:
                question_file, question = question_item
                self._handle_single_question(question_file, question)
            else:
                time.sleep(0.5)  # Wait for new questions
    
    def _handle_single_question(self, question_file: Path, question: dict):
        """Handle individual question with dialog"""
        agent_name = question.get('agent_name', question.get('agent_id', 'Unknown'))
        
        # Show question context
        print(f"\n{'='*60}")
        print(f"[{agent_name}] Question:")
        print(f"  {question['content']}")
        
        if question.get('options'):
            print(f"  Options: {', '.join(question['options'])}")
        
        print(f"{'='*60}")
        
        # Show dialog to user
        answer = show_dialog(
            message=f"[{agent_name}]\n\n{question['content']}",
            dialog_type=question.get('type', 'text'),
            options=question.get('options', [])
        )
        
        # Write answer file
        agent_id = question.get('agent_id', 'unknown')
        answer_file = self.answers_dir / f"a_{agent_id}_{question['id']}.json"
        
        answer_data = {
            'id': question['id'],
            'agent_id': agent_id,
            'timestamp': time.time(),
            'type': 'answer',
            'content': answer
        }
        
        with open(answer_file, 'w') as f:
            json.dump(answer_data, f, indent=2)
        
        print(f"[{agent_name}] Answer: {answer}")
        print()
        
        # Update agent status
        if agent_id in self.active_agents:
            self.active_agents[agent_id]['status'] = 'active'
            self._save_agent_info(agent_id)
    
    def _update_agent_registry(self, question):
        """Update agent registry with question info"""
        agent_id = question.get('agent_id')
        if not agent_id:
            return
        
        agent_file = self.agents_dir / f"agent_{agent_id}.json"
        agent_info = {
            'agent_id': agent_id,
            'name': question.get('agent_name', f'Agent-{agent_id}'),
            'working_dir': question.get('working_dir', str(Path.cwd())),
            'last_seen': time.time(),
            'status': 'waiting'
        }
        
        # Load existing info if available
        if agent_file.exists():
            try:
                with open(agent_file, 'r') as f:
                    existing = json.load(f)
                agent_info.update({
                    'started_at': existing.get('started_at', agent_info['last_seen']),
                    'questions_asked': existing.get('questions_asked', 0) + 1
                })
            except:
                pass
        else:
            agent_info.update({
                'started_at': agent_info['last_seen'],
                'questions_asked': 1
            })
        
        # Save agent info
        with open(agent_file, 'w') as f:
            json.dump(agent_info, f, indent=2)
        
        self.active_agents[agent_id] = agent_info
    
    def _save_agent_info(self, agent_id):
        """Write an agent's file (mended: the original calls this, and has no such method)"""
        with open(self.agents_dir / f"agent_{agent_id}.json", 'w') as f:
            json.dump(self.active_agents[agent_id], f, indent=2)

    def _update_queue_file(self):
        """Update queue status file"""
        queue_info = {
            'total_questions': len(self.question_queue),
            'active_agents': len(self.active_agents),
            'queue': [
                {
                    'agent_name': q['agent_name'],
                    'content': q['content'][:100] + '...' if len(q['content']) > 100 else q['content'],
                    'timestamp': q['timestamp'],
                    'type': q.get('type', 'text')
                }
                for _, q in list(self.question_queue)
            ]
        }
        
        queue_file = self.queue_dir / "question_queue.json"
        with open(queue_file, 'w') as f:
            json.dump(queue_info, f, indent=2)

def listen_command(project_dir: Path = None):
    """Start multi-agent HIL listener"""
    # Check global config
    if not check_config():
        print("ERROR: Global configuration not found.")
        print("Please run: claude-helpers init")
        return
    
    if project_dir is None:
        project_dir = Path.cwd()
    
    helpers_dir = project_dir / ".helpers"
    
    # Check project initialization
    if not helpers_dir.exists():
        print("ERROR: Project not initialized for HIL.")
        print("Please run: claude-helpers init (in project directory)")
        return
    
    # Create PID file
    pid_file = helpers_dir / ".listener.pid"
    with open(pid_file, 'w') as f:
        f.write(str(os.getpid()))
    
    print(f"✓ Multi-Agent HIL Listener started")
    print(f"  Project: {project_dir}")
    print(f"  Supporting multiple Claude Code sessions")
    print(f"  Watching: {helpers_dir / 'questions'}")
    print("\nPress Ctrl+C to stop\n")
    
    # Start file watcher
    event_handler = MultiAgentQuestionHandler(helpers_dir)
    observer = Observer()
    observer.schedule(event_handler, str(helpers_dir / "questions"), recursive=False)
    observer.start()
    
    try:
        while True:
            # Show status if questions pending
            if event_handler.question_queue:
                print(f"[Status] {len(event_handler.question_queue)} questions in queue, "
                      f"{len(event_handler.active_agents)} active agents")
            time.sleep(10)
    except KeyboardInterrupt:
        print("\nShutting down...")
        observer.stop()
        # Cleanup
        pid_file.unlink(missing_ok=True)
        for agent_file in event_handler.agents_dir.glob("agent_*.json"):
            agent_file.unlink(missing_ok=True)
    
    observer.join()
    print("✓ Multi-Agent HIL Listener stopped")
